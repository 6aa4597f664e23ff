"""The survey of maps: its rows as a table, what they answer, and advice for other data."""
