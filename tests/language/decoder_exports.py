"""Small decoders of random weights by transformers, as torch.onnx.export writes them: caches are inputs and outputs."""

import warnings

import torch
import transformers
from transformers import DynamicCache, EncoderDecoderCache

SIZES = {"vocab_size": 96, "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 256, "rms_norm_eps": 1e-5}  # fmt: skip
ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "decoder_start_token_id": 1}
ENCODED = 20  # positions that the encoder gave
# architecture -> the class of transformers, and its configuration
DECODERS = {
    "llama": ("LlamaForCausalLM", {**SIZES, "tie_word_embeddings": False}),
    "qwen2": ("Qwen2ForCausalLM", {**SIZES, "tie_word_embeddings": True, "rope_theta": 1e6}),
    "qwen3": ("Qwen3ForCausalLM", {**SIZES, "tie_word_embeddings": False, "head_dim": 32}),
    "gemma": ("GemmaForCausalLM", {**SIZES, "head_dim": 32, "hidden_activation": "gelu_pytorch_tanh"}),
}
# Whisper-tiny has 384 wide layers and 6 heads of 64; T5 and Marian are small ones of their kind.
SEQUENCES = {
    "whisper": ("WhisperForConditionalGeneration",
                {**ENDS, "vocab_size": 96, "d_model": 384, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 6,
                 "decoder_attention_heads": 6, "encoder_ffn_dim": 64, "decoder_ffn_dim": 1536, "max_source_positions": ENCODED,
                 "max_target_positions": 128, "num_mel_bins": 16}),
    "t5": ("T5ForConditionalGeneration",
           {**ENDS, "vocab_size": 96, "d_model": 96, "d_kv": 16, "d_ff": 160, "num_layers": 2, "num_heads": 6}),
    "marian": ("MarianMTModel",
               {**ENDS, "vocab_size": 96, "d_model": 96, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 6,
                "decoder_attention_heads": 6, "encoder_ffn_dim": 64, "decoder_ffn_dim": 160, "max_position_embeddings": 128}),
}  # fmt: skip
# As wide as SmolLM2-135M, with 12 of its 30 layers.
LARGE = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 12, "num_attention_heads": 9, "num_key_value_heads": 3}
NAMES = [*DECODERS, *SEQUENCES]


class Cached(torch.nn.Module):
    """A decoder whose cache is a list of tensors, a key and a value for each layer."""

    def __init__(self, model, layers):
        super().__init__()
        self.model, self.layers = model, layers

    def cache(self, past):
        made = DynamicCache()
        for layer in range(self.layers):
            made.update(past[2 * layer], past[2 * layer + 1], layer)
        return made

    def forward(self, input_ids, attention_mask, position_ids, *past):
        out = self.model(input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=self.cache(past),
                         use_cache=True)  # fmt: skip
        return (out.logits, *(part for layer in out.past_key_values.layers for part in (layer.keys, layer.values)))


class CachedBehindEncoder(Cached):
    """The decoder of a model of sequences to sequences: keys and values of the encoder's result are made anew for each token."""

    def forward(self, input_ids, encoded, *past):
        cache = EncoderDecoderCache(self.cache(past), DynamicCache())
        out = self.model(decoder_input_ids=input_ids, encoder_outputs=(encoded,), past_key_values=cache, use_cache=True)
        layers = out.past_key_values.self_attention_cache.layers
        return (out.logits, *(part for layer in layers for part in (layer.keys, layer.values)))


class Export:
    """A model, what it is exported with, and the inputs of its steps. `pads`: for each sequence of a batch, how many tokens before the
    first prompt count for nothing."""

    def __init__(self, name, attention="sdpa", sizes=None, pads=(0,), seed=5):
        kind, values = {**DECODERS, **SEQUENCES, **(sizes or {}).pop("kinds", {})}[name]
        torch.manual_seed(seed)
        self.pads, self.batch = list(pads), len(pads)
        config = getattr(transformers, kind).config_class(**{**values, **(sizes or {})})
        config._attn_implementation = attention
        model = getattr(transformers, kind)(config).eval()
        with torch.no_grad():
            for weight in model.parameters():
                if weight.ndim == 1:  # norms and biases, which are one and zero when they are made
                    weight.add_(0.2 * torch.randn_like(weight))
        get = lambda *names: next(value for value in (getattr(config, name, None) for name in names) if value)  # noqa: E731
        self.has_encoder = bool(config.is_encoder_decoder)
        self.layers = get("decoder_layers", "num_decoder_layers", "num_hidden_layers", "n_layer")
        self.width = get("d_model", "hidden_size", "n_embd")
        heads = get("decoder_attention_heads", "num_attention_heads", "n_head")
        self.heads = getattr(config, "num_key_value_heads", None) or heads
        self.size = getattr(config, "head_dim", None) or getattr(config, "d_kv", None) or self.width // heads
        self.module = (CachedBehindEncoder if self.has_encoder else Cached)(model, self.layers).eval()
        self.caches = [f"{layer}.{part}" for layer in range(self.layers) for part in ("key", "value")]
        self.encoded = torch.randn(self.batch, ENCODED, self.width)

    def inputs(self, tokens, read):
        """Those beside the cache, of `tokens` (a row for each sequence) behind `read` others."""
        ids = torch.tensor(tokens)
        if self.has_encoder:
            return {"input_ids": ids, "encoded": self.encoded}
        mask = torch.ones(self.batch, read + ids.shape[1], dtype=torch.int64)
        for row, pad in zip(mask, self.pads):
            row[:pad] = 0
        positions = (mask.cumsum(1) - 1).clamp(0)[:, -ids.shape[1] :]
        return {"input_ids": ids, "attention_mask": mask, "position_ids": positions}

    def empty(self, length=0):
        return [torch.randn(self.batch, self.heads, length, self.size) for _ in self.caches]

    def write(self, path, dynamo):
        # Cached keys of 6 tokens, and 3 new ones.
        given, past = self.inputs([[3, 1, 2]] * self.batch, 6), self.empty(6)
        outputs = ["logits", *(f"present.{name}" for name in self.caches)]
        names = [*given, *(f"past_key_values.{name}" for name in self.caches)]
        free = {name: {1: "step" if name != "attention_mask" else "total"} for name in given if name != "encoded"}
        how = {"input_names": names, "output_names": outputs, "dynamo": dynamo}
        if dynamo:
            dynamic = torch.export.Dim.DYNAMIC
            fixed = [{axis: dynamic for axis in free.get(name, {})} for name in given]
            how |= {"dynamic_shapes": (*fixed, tuple({2: dynamic} for _ in past)), "external_data": False, "verbose": False}
        else:
            free |= {name: {2: "past"} for name in names[len(given) :]} | {name: {2: "total"} for name in outputs[1:]}
            how |= {"dynamic_axes": free | {"logits": {1: "step"}}, "opset_version": 17}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(self.module, (*given.values(), *past), str(path), **how)
