"""The peers: other programs that answer the same events with records of the same number and size.

All except Faust process each event exactly once.
"""
