"""The page at `/` of a worker's or an audit's HTTP endpoint: HTML and SVG made here, without scripts.

# PRIVACY: a page is built from metrics (metrics.py), reason codes and settings; a finding's series and message are
shown only if the operator allowed it (`http_series`), and no raw value is ever among them.
"""
