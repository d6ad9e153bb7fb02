"""Architectures of torchvision and transformers with random weights: nothing is taken from a hub."""

BYTES_MAX = 400e6  # Of parameters in float32, for torchvision's classifiers.
SIZES = {"inception_v3": 299}
# By the names of transformers' classes; small vocabularies, since a table's rows are all alike.
WORDS = 4000
TOKENS = 128


def _text_models():
    import torch
    import transformers as t
    ids = torch.randint(3, WORDS, (1, TOKENS))
    mask = torch.ones(1, TOKENS, dtype=torch.long)
    mask[0, TOKENS - 20:] = 0
    encoder = {"input_ids": ids, "attention_mask": mask}
    tokens = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return {
        "bert": (lambda: t.BertModel(t.BertConfig(vocab_size=WORDS)), encoder),
        "distilbert": (lambda: t.DistilBertModel(t.DistilBertConfig(vocab_size=WORDS)), encoder),
        "gpt2": (lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=WORDS, **tokens)),
                 {"input_ids": ids, "use_cache": False}),
        "llama_small": (lambda: t.LlamaForCausalLM(t.LlamaConfig(
            vocab_size=WORDS, hidden_size=512, intermediate_size=1024, num_hidden_layers=6,
            num_attention_heads=8, num_key_value_heads=2, **tokens)),
            {"input_ids": ids, "use_cache": False}),
        "t5_encoder": (lambda: t.T5EncoderModel(t.T5Config(vocab_size=WORDS)), encoder),
        "whisper_encoder": (lambda: t.models.whisper.modeling_whisper.WhisperEncoder(t.WhisperConfig()),
                            {"input_features": torch.randn(1, 80, 3000)}),
    }


TEXT_NAMES = ("bert", "distilbert", "gpt2", "llama_small", "t5_encoder", "whisper_encoder")


def names():
    """All of them; torchvision's by their size, which its list of weights says."""
    import torchvision
    found = []
    for name in torchvision.models.list_models(module=torchvision.models):
        if 4 * torchvision.models.get_model_weights(name).DEFAULT.meta["num_params"] <= BYTES_MAX:
            found.append(name)
    return [*found, *TEXT_NAMES]


def make(name):
    """(model in evaluation mode, positional inputs, named inputs)."""
    import torch
    if name in TEXT_NAMES:
        model, inputs = _text_models()[name]
        return model().eval(), (), inputs
    import torchvision
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    size = SIZES.get(name, 224)
    return torchvision.models.get_model(name, **options).eval(), (torch.randn(1, 3, size, size),), {}
