"""The study of the maps: its parts and cells, the league of maps, and advice for other data."""
