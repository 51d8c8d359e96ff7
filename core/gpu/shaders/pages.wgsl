// The layout of a page of keys and values, of `PAGE` tokens. For each head: keys as `(words, PAGE)`, so that lanes that have a token
// each read side by side; their scales, `(groups, PAGE)`; values as `(PAGE, words)`; their scales, `(PAGE, groups)`.
// Constants: HEAD_DIM.
const PAGE = 64u;
//F32 const PER_WORD = 1u;
//F16 const PER_WORD = 2u;
//Q8_0 const PER_WORD = 4u;
const WORDS = (HEAD_DIM + PER_WORD - 1u) / PER_WORD;
//F32 const GROUPS = 0u;
//F16 const GROUPS = 0u;
//Q8_0 const GROUPS = (HEAD_DIM + 31u) / 32u;
const KEY_SCALES = WORDS * PAGE;
const VALUES = KEY_SCALES + GROUPS * PAGE;
const VALUE_SCALES = VALUES + WORDS * PAGE;
const HEAD_WORDS = VALUE_SCALES + GROUPS * PAGE;
