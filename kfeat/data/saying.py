"""What is worth saying once, however often it is met."""

import logging
from functools import cache

logger = logging.getLogger("kfeat")


@cache
def say_once(level: int, message: str) -> None:
    """Log a message the first time this process has it to say."""
    logger.log(level, message)
