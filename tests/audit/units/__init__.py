"""Audits of series whose steps contain many units."""
