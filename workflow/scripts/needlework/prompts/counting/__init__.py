"""How the tokens of prompts are counted. Builders of prompts use only `pieces.Pieces`.

A prompt is a list of spans. A builder gets the number of each span from a `Pieces` (`literal`, `slice`) and
asks for the tokens of a list of such numbers (`tokens`), or for the largest prompt within a budget (`fit`).
`pieces.fill` fills prompts of numbered passages, and `pieces.NumberedLists` counts numbered lists of words;
both use a `Pieces` too. `tokens` is always the exact number of tokens of the prompt's text. One of three ways
to count is chosen here, once per tokenizer:

1. Running sums (`pieces`). `proofs` derives from a tokenizer's files between which characters it splits every
   text, whatever stands around them. The tokens between two such places are a difference of two running
   sums. These sums are made once for a document and tokenizer, and kept on disk. The text between the last
   such place of one span and the first of the next is tokenized by itself. So a prompt of 128,000 tokens is
   counted in less than a millisecond.
2. Words. The running sum of a short text is the sum of its words, if the tokenizer is proved to split
   before the spaces between them: most words are known from other texts.
3. The whole text. If nothing is proved of a tokenizer (`proofs.Unproven`), every finished prompt is
   tokenized whole. `fit` then uses running sums at places where most tokenizers split (`proofs.supposed`)
   to guess the size, so that one or two prompts are tokenized for each one that is built.

`tokenizers.Tokenizer.check` verifies a sample of the sums by tokenizing the text of the prompt.
"""
