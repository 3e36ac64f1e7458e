"""Steps of units: forms, what units hold, statistics, versions, and the loss over all small histories."""
