"""Who somebody is: accounts, sessions, second factors, and the page of one's own."""
