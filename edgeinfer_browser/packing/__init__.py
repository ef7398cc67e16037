"""From a model as it is published to a folder that browser and server can both trust."""
