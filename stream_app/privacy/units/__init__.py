"""Steps of many units, each protected: what a unit holds, which units a step counts, and the decision about it."""
