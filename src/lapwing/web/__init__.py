"""The web application: a school of learning nuggets.

lapwing serve       starts it at http://127.0.0.1:8000, on SQLite, with nothing else needed
"""
