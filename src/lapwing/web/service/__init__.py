"""What every part of the application stands on: settings, the database, limits, headers. It knows none of them."""
