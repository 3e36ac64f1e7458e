"""Tests of level w-event: the window's bound by enumeration, and the schemes of Kellaris et al. in full."""
