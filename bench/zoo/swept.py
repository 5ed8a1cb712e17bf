"""Any type of transformers, by random choice: a model of one of its classes with a configuration made small by rules over the names of
its fields, and inputs by the names of its arguments. made(seed) as in random_networks; name them swept/SEED. made_of(TYPE, CLASS, r)
makes one by name. What has no inputs that its forward takes raises."""

import dataclasses
import inspect
import math
import random
import re

import torch
import transformers
from tensors import Tensors, flat
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

LARGEST = 60_000_000  # weights
FORMS = ("small", "wide", "plain")
COMMON = {field.name for field in dataclasses.fields(transformers.PretrainedConfig)}
LAYERS = re.compile(r"(^|_)(n_?layers?|num_layers|num_hidden_layers|layers?|depths?|num_blocks|n_blocks|blocks|stages_repeats)$|_layers$|_depth$")
HEADS = re.compile(r"(^|_)(n_?heads?|num_heads|attention_heads|num_attention_heads|nhead|heads)$|_heads$")
INNER = re.compile(r"intermediate|ffn|inner|mlp_dim|d_ff|mlp_hidden|feed_forward")
WIDTH = re.compile(r"hidden_size|d_model|n_embd|hidden_dim|embed_dim|embedding_size|emb_dim|^dim$|_dim$|width|_size$|channels|lora_rank")
KEPT = re.compile(r"patch|image|window|kernel|position|chunk|batch|bucket|stride|head_dim|_heads|mel|input_dim|feature_size|codebook|sample|"
                  r"rotary|group|beam|vocab|context|block_size|d_kv|num_channels|conv|rope|tubelet|crop|pool|dilat|factor|segment|levels|span")


class Widths:
    """One seed's numbers: a width, and as many heads as leave them the width that they have."""

    def __init__(self, r):
        self.form = FORMS[0]
        self.width = r.choice([192, 256, 256, 320, 384, 512])
        self.length = r.choice([12, 24, 32, 48, 64, 100])


def heads_of(default, width):
    """Heads of the width that they have in a usual model of this type, so that what rotates or splits them still fits."""
    wide = next((getattr(default, name) for name in ("hidden_size", "d_model", "n_embd", "embed_dim", "dim") if
                 isinstance(getattr(default, name, None), int)), None)
    heads = next((getattr(default, name) for name in ("num_attention_heads", "encoder_attention_heads", "n_head", "num_heads", "n_heads") if
                  isinstance(getattr(default, name, None), int)), None)
    if not wide or not heads or wide % heads:
        return width, None
    head = wide // heads
    if head > width:
        return head, 1
    count = max(1, min(heads, width // head))
    return min(wide, count * head), count


#: Names of fields, and the most that they keep.
MOST = [(re.compile(name), most) for name, most in (
    (r"vocab_size$", 1000), (r"num_(local_|routed_)?experts$|n_routed_experts|moe_num_experts|num_experts$", 4),
    (r"^(num_experts_per_tok|(moe_|router_|experts_)?(top_?)?k|num_experts_per_token)$", 2), (r"^(n_group|topk_group|first_k_dense_replace)$", 1))]
LATER = [(LAYERS, 2), (re.compile(r"^num_(object_)?queries$"), 50), (re.compile(r"^(num_frames|frames_per_clip)$"), 4)]


def most_of(table, name):
    return next((most for pattern, most in table if pattern.search(name)), None)


def several(name, value, default):
    """The smaller form of a field that is no number."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, int) for one in value):
        return value
    if name == "image_size":
        return type(value)(side(one, default) for one in value)
    return type(value)(min(one, 2) for one in value) if LAYERS.search(name) else value


def changed(name, value, default, width, heads):
    """A field's smaller value; the value itself where no rule knows it."""
    if isinstance(value, bool) or not isinstance(value, int):
        return several(name, value, default)
    if most := most_of(MOST, name):
        return min(value, most)
    if "key_value_heads" in name or "kv_heads" in name:
        is_same = value == (getattr(default, "num_attention_heads", None) or value)
        return heads if is_same or not heads else next(k for k in range(min(value, 2, heads), 0, -1) if heads % k == 0)
    if HEADS.search(name):
        return min(value, heads or 4)
    if most := most_of(LATER, name):
        return min(value, most)
    if name in ("image_size", "crop_size"):
        return side(value, default)
    if INNER.search(name):
        return min(value, 2 * width)
    return min(value, width) if value > 256 and WIDTH.search(name) and not KEPT.search(name) else value


def side(value, default):
    patch = getattr(default, "patch_size", 16)
    patch = patch if isinstance(patch, int) else 16
    return value if value <= 256 else math.lcm(patch, 2 * patch) * max(1, 256 // (2 * patch))


def tokens(cls, default, vocabulary):
    """Tokens of a meaning that the smaller vocabulary does not have, as the last ones that it has."""
    given = {}
    for field in dataclasses.fields(cls) if isinstance(vocabulary, int) else ():
        value = getattr(default, field.name, None)
        if re.search(r"token_id$|token_index$", field.name) and isinstance(value, int) and value >= vocabulary:
            given[field.name] = vocabulary - 1 - len(given)
    return given


def shrunk(cls, numbers):
    """The class's configuration: few layers, a usual width, few experts, a small vocabulary; the configurations inside it too."""
    default = cls()
    if numbers.form == "plain":
        return default
    width, heads = heads_of(default, numbers.width)
    given = {}
    for field in dataclasses.fields(cls):
        value = getattr(default, field.name, None)
        if isinstance(value, transformers.PretrainedConfig):
            given[field.name] = shrunk(type(value), numbers)
        elif field.name in COMMON or (field.default is None and not (isinstance(value, int) and HEADS.search(field.name))):
            continue
        elif field.name in ("use_timm_backbone", "use_pretrained_backbone"):
            given[field.name] = False
        elif numbers.form == "wide" and (WIDTH.search(field.name) or HEADS.search(field.name)) and not field.name.endswith("vocab_size"):
            continue
        elif (one := changed(field.name, value, default, width, heads)) != value:
            given[field.name] = one
    given |= tokens(cls, default, given.get("vocab_size", getattr(default, "vocab_size", None)))
    config = cls(**given)
    if hasattr(config, "use_cache"):
        config.use_cache = False
    return config


def classes_of(kind):
    """The classes of all mappings, and those of its module alone where none has it."""
    found = []
    for name in sorted(vars(modeling_auto)):
        if name.startswith("MODEL_") and name.endswith("_NAMES"):
            value = getattr(modeling_auto, name).get(kind, ())
            found += [value] if isinstance(value, str) else list(value)
    names = sorted({name for name in found if hasattr(transformers, name)})
    if names:
        return names
    config = CONFIG_MAPPING[kind]
    module = config.__module__.replace("configuration_", "modeling_")
    owner = __import__(module, fromlist=["x"])
    models = {name: one for name, one in vars(owner).items() if inspect.isclass(one) and issubclass(one, transformers.PreTrainedModel) and
              one.__module__ == module and "forward" in vars(one)}
    return sorted(name for name, one in models.items() if getattr(one, "config_class", None) is config) or sorted(models)


def attribute(config, *names, otherwise=None):
    """The first of the names that the configuration, or one inside it, has as a number."""
    parts = [config] + [one for one in vars(config).values() if isinstance(one, transformers.PretrainedConfig)]
    for name in names:
        for part in parts:
            value = getattr(part, name, None)
            value = value[0] if isinstance(value, (list, tuple)) and value and isinstance(value[0], int) else value
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return otherwise


def words(config, length):
    vocabulary = attribute(config, "vocab_size", otherwise=300)
    return torch.randint(min(5, vocabulary - 1), max(6, min(vocabulary, 900) - 20), (1, length)) % vocabulary


def pictures(config):
    """Pixels in the forms that models take, likeliest first."""
    size = attribute(config, "image_size", "crop_size", otherwise=224)
    channels = attribute(config, "num_channels", "in_channels", "in_chans", otherwise=3)
    frames = attribute(config, "num_frames", "frames_per_clip", otherwise=4)
    sides = [(size, size)]
    whole = getattr(config, "image_size", None)
    if isinstance(whole, (list, tuple)) and len(whole) == 2:
        sides.insert(0, tuple(whole))
    sides += [(224, 224)] if size != 224 else [(256, 256)]
    for height, width in sides:
        yield torch.randn(1, channels, height, width)
    yield torch.randn(1, frames, channels, size, size)
    yield torch.randn(1, channels, frames, size, size)
    yield torch.randn(1, 2, channels, size, size)
    patch = attribute(config, "patch_size", otherwise=16)
    yield torch.randn(1, 64, channels * patch * patch)


def sounds(config):
    mel = attribute(config, "num_mel_bins", "feature_size", "input_dim", "input_feat_per_channel", otherwise=80)
    frames = attribute(config, "max_source_positions", "max_length", otherwise=100)
    yield torch.randn(1, 2 * frames, mel)
    yield torch.randn(1, mel, 2 * frames)
    yield torch.randn(1, frames, mel)
    yield torch.randn(1, mel, frames)
    yield torch.randn(1, 200, mel)
    yield torch.randn(1, mel, 200)
    yield torch.randn(1, 1, frames, mel)


def waves(config):
    yield torch.randn(1, 8000)
    yield torch.randn(1, 1, 8000)
    yield torch.randn(1, 2, 8000)
    yield from sounds(config)


def series(config):
    context = attribute(config, "context_length", "prediction_length", otherwise=64)
    channels = attribute(config, "num_input_channels", "input_size", otherwise=1)
    lags = max(getattr(config, "lags_sequence", None) or [0])
    yield torch.randn(1, context, channels)
    yield torch.randn(1, context + lags)
    yield torch.randn(1, context)


def one_of(name, config, numbers):
    """Tensors to try for an argument, likeliest first; none for an argument that is not known."""
    if name in ("input_ids", "decoder_input_ids"):
        most = attribute(config, "max_position_embeddings", otherwise=1000)
        return [words(config, min(numbers.length, most) if name == "input_ids" else 8)]
    if name in ("pixel_values", "pixel_values_videos"):
        return list(pictures(config))
    if name == "input_features":
        return list(sounds(config))
    if name in ("input_values", "audio_values", "input_waveform"):
        return list(waves(config))
    if name in ("past_values", "context_values"):
        return list(series(config))
    if name in ("spectrogram", "hidden_states", "inputs_embeds", "encoder_hidden_states", "embeddings", "latents"):
        wide = [attribute(config, one) for one in ("hidden_size", "model_in_dim", "num_mel_bins", "d_model", "hidden_dim")]
        return [torch.randn(1, numbers.length, one) for one in wide if one] + [torch.randn(1, one, numbers.length) for one in wide if one]
    if name in ("audio_codes", "codes"):
        return [torch.randint(0, 16, (1, attribute(config, "num_codebooks", "n_codebooks", "num_quantizers", otherwise=8), 24)),
                torch.randint(0, 16, (1, 24))]
    if name.endswith("_mask") or name == "mask":
        return [torch.ones(shape, dtype=kind) for shape in ((1, numbers.length), (1, 200), (1, 100)) for kind in (torch.int64, torch.bool)]
    if name == "bbox":
        corners = torch.randint(0, 500, (1, numbers.length, 2))
        return [torch.cat([corners, corners + 100], -1), torch.rand(1, numbers.length, 8)]
    return []


def choices(network, config, numbers):
    """Sets of inputs to try: the main one with what most networks of its kind want beside it, then fewer."""
    taken = inspect.signature(network.forward).parameters
    main = network.main_input_name if network.main_input_name in taken else next(iter(taken))
    firsts = one_of(main, config, numbers) or list(pictures(config))
    if main == "hidden_states":
        firsts += list(pictures(config))
    texts = {name: one_of(name, config, numbers)[0] for name in ("input_ids", "decoder_input_ids") if name in taken and name != main}
    boxes = {"bbox": one_of("bbox", config, numbers)[0]} if "bbox" in taken else {}
    for first in firsts:
        mask = {"attention_mask": torch.ones(first.shape[:2], dtype=torch.int64)} if main == "input_ids" and "attention_mask" in taken else {}
        others = [{name: value} for name in ("pixel_values", "input_features", "input_values") if name in taken and name != main
                  for value in one_of(name, config, numbers)[:2]] if main == "input_ids" else []
        for other in [*others, {}]:
            yield {main: first, **boxes, **mask, **texts, **other}
        yield {main: first, **mask}
        yield {main: first, **{name: value for name, value in texts.items() if name != "input_ids"}}
        yield {main: first}
        if "input_features_mask" in taken or "attention_mask" in taken:
            name = "input_features_mask" if "input_features_mask" in taken else "attention_mask"
            for extent in {first.shape[-1], first.shape[min(1, first.ndim - 1)]}:
                yield {main: first, name: torch.ones(1, extent, dtype=torch.int64)}
    wanted = [name for name, one in taken.items() if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    if wanted and all(one_of(name, config, numbers) for name in wanted):
        yield {name: one_of(name, config, numbers)[0] for name in wanted}


def network_of(cls, config):
    """None for a network that is too large."""
    with torch.device("meta"):
        count = sum(one.numel() for one in cls(config).parameters())
    if count > LARGEST:
        return None
    network = cls(config).eval()
    try:
        network.set_experts_implementation("batched_mm")  # of the ways to multiply by experts, one that exporters know
    except Exception:  # it has none
        pass
    return network


def working(network, numbers):
    """The first inputs that the network takes, or the reasons of all."""
    reasons = []
    for inputs in choices(network, network.config, numbers):
        try:
            with torch.no_grad():
                if flat(network(**inputs)):
                    return inputs
        except Exception as error:
            reasons.append(" ".join(str(error).split())[:160])
    raise ValueError("no inputs: " + " | ".join(dict.fromkeys(reasons[:1] + reasons[-1:])))


def made_of(kind, of, r):
    """First with smaller widths, then, where its parts do not fit so, with those that it has, then as its configuration is."""
    numbers = Widths(r)
    config_class = CONFIG_MAPPING[kind]
    module = __import__(config_class.__module__.replace("configuration_", "modeling_"), fromlist=["x"])
    cls = getattr(transformers, of, None) or getattr(module, of)
    failed = None
    for numbers.form in FORMS:
        try:
            network = network_of(cls, shrunk(config_class, numbers))
            if network is not None:
                inputs = working(network, numbers)
                return Tensors(network, tuple(inputs)), tuple(inputs.values())
        except Exception as error:
            failed = failed or error
    raise failed or ValueError("too large")


def chosen(seed):
    r = random.Random(int(seed))
    kind = r.choice(sorted(CONFIG_MAPPING.keys()))
    return kind, r.choice(classes_of(kind) or [""]), r


def made(seed):
    """The network and its inputs. The caller seeds torch."""
    return made_of(*chosen(seed))
