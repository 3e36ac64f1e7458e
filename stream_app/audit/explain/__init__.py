"""Why a step was published, repeated or suppressed: its figures, formulas with numbers, and a text."""
