"""How far the owner of a partition has come."""

from enum import Enum


class Phase(Enum):
    """From the assignment to work, and back after trouble."""

    AWAY = "its producer is not open"
    READS = "it takes over: fences earlier owners, reads the state back"
    RECALLS = "it takes input, and counts again what open steps of collected series hold"
    WORKS = "it decides"
