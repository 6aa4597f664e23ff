"""A first config for data of one's own, and the search for a better one."""
