"""The methods that differential privacy replaced, done honestly, so that one can see where they break."""
