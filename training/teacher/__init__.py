"""The teacher: a span parser and tagger on a small pretrained encoder, which annotates raw text for distillation.

It needs the extra `teacher` (torch, safetensors, tokenizers and the package with the encoder's weights). Parsing does
not need them.
"""
