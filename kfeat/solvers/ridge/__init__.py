"""Ridge regression from moments that are collected batch by batch."""
