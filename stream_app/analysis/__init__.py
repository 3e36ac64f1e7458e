"""What can be said of the true values from releases and public policies alone: means, intervals, smoothed courses.

All of it is free post-processing (Dwork and Roth 2014, proposition 2.1). No file here has a raw value, but for
`constant`, which is the baseline that only who knows the truth can compute. No I/O.
"""
