"""What every feature map should promise, as a check of anybody's map."""

from kfeat.testing.check_map import Check, MapReport, check_map

__all__ = ["Check", "MapReport", "check_map"]
