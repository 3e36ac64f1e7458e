"""Audits of series whose steps hold many units."""
