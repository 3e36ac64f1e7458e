"""The demo: its figures and its picture, of releases that stand for a broker's."""
