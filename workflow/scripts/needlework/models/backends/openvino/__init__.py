"""GGUF files and OpenVINO folders, by OpenVINO GenAI."""
