"""The demo: its figures and its picture, from releases that stand in for a broker's."""
