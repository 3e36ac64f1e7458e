"""Why one step was decided as it was: the figures before it, the formulas with their numbers, the text."""
