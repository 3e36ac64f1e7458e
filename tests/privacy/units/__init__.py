"""Steps of units: forms, contents of units, statistics, versions, and the loss over all small histories."""
