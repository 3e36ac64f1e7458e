"""Collected data: contributions are counted until a watermark closes their step."""
