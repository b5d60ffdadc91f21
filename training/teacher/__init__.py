"""The teacher: a span parser and tagger on a small pretrained encoder, which reads raw text for the students to learn
from.

It needs the extra `teacher` (torch, safetensors, tokenizers and the package that the encoder's weights come in).
Nothing that parses does.
"""
