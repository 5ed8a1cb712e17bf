"""Any network of diffusers, by random choice: one of its model classes, made small by rules over the names of its arguments, and inputs
by the names of its forward's; half of the classes take them. made(seed) as in random_networks; name them diffusers/SEED.
made_of(CLASS, r) makes one by name, or raises."""

import importlib
import inspect
import itertools
import random
import re

import torch
from tensors import Tensors, flat

LARGEST = 60_000_000  # weights
LAYERS = re.compile(r"layers|depth|num_res_blocks|num_blocks|_blocks_per|repeat")
TEXT = re.compile(r"^(joint_attention_dim|text_dim|text_embed_dim|cap_feat_dim|caption_channels|cross_attention_dim|pooled_projection_dim|"
                  r"cross_attention_input_dim|encoder_hid_dim|context_dim|text_hidden_dim|encoder_hidden_states_dim|conditioning_dim|"
                  r"text_states_dim|text_embed_2_dim|clip_text_pooled_in_channels|global_states_input_dim|cond_dim|image_dim)$")
BASE = re.compile(r"^(base_dim|decoder_base_dim|base_channels|encoder_hidden_size|decoder_channels|encoder_base_dim|channel|ch|dim|inner_dim)$")
CHANNELS = re.compile(r"block_out_channels|block_channels|(encoder|decoder)_block_out_channels")
WORDS = 24  # tokens of a text
MOST_TRIES = 200
MOST_CLASSES = 15


def arguments(cls):
    return {name: one.default for name, one in inspect.signature(cls.__init__).parameters.items()
            if name not in ("self", "args", "kwargs") and one.default is not one.empty}


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def width_of(given):
    """The width of a transformer's tokens, or None."""
    heads, head = given.get("num_attention_heads"), given.get("attention_head_dim")
    if is_number(given.get("hidden_size")):
        return given["hidden_size"]
    return heads * head if is_number(heads) and is_number(head) else None


def fewer_heads(given, r):
    """What the arguments become with few heads of the width that they have, and what follows that width."""
    heads, width = given.get("num_attention_heads"), width_of(given)
    if not is_number(heads) or not width or width % heads:
        return {}
    some = min(heads, r.choice([2, 4, 6]))
    changed = {"num_attention_heads": some}
    for name, value in given.items():
        if not is_number(value) or name in ("num_attention_heads", "attention_head_dim"):
            continue
        if re.search(r"(key_value|kv)_(attention_)?heads", name):
            changed[name] = some if value == heads else next(k for k in range(min(value, some), 0, -1) if some % k == 0)
        elif value % width == 0 and (value > width or re.search(r"dim|size|channels", name)):
            changed[name] = value // width * (width // heads * some)
        elif re.search(r"cross_attention_heads|heads", name) and value == heads:
            changed[name] = some
    return changed


def smaller(name, value, form):
    """An argument's smaller value; the value itself where no rule knows it."""
    is_list = isinstance(value, (list, tuple)) and value and all(is_number(one) for one in value)
    if LAYERS.search(name):
        if is_number(value):
            return min(value, 2 if form == "deep" else 1)
        return type(value)(min(one, 1) for one in value) if is_list else value
    if CHANNELS.search(name) and is_list:
        factor = max(value) / 256
        return value if factor <= 1 else type(value)(max(32, round(one / factor / 32) * 32) for one in value)
    if is_number(value):
        if TEXT.search(name):
            return min(value, 256)
        if BASE.search(name):
            return min(value, 64)
        if name == "sample_size":
            return min(value, 32)
    return value


def reduced(cls, form, r):
    given = arguments(cls)
    if form == "plain":
        return {}
    changed = {name: smaller(name, value, form) for name, value in given.items()}
    if form != "wide":
        changed |= fewer_heads({**given, **{name: changed[name] for name in given if LAYERS.search(name)}}, r)
    return {name: value for name, value in changed.items() if value is not given[name] and value != given[name]}


def attribute(config, *names, otherwise=None):
    for name in names:
        value = config.get(name)
        value = value[0] if isinstance(value, (list, tuple)) and value else value
        if is_number(value):
            return value
    return otherwise


def latents(config, kind):
    """Pictures, tokens, clips and sounds, likeliest first."""
    channels = attribute(config, "in_channels", "audio_channels", "channels", "num_latent_channels", otherwise=4)
    side = min(attribute(config, "sample_size", otherwise=32), 32)
    if "Autoencoder" in kind or "VAE" in kind or "VQ" in kind:
        side, channels = 64, attribute(config, "in_channels", "audio_channels", "input_channels", otherwise=3)
    yield torch.randn(1, channels, side, side)
    yield torch.randn(1, 64, channels)
    yield torch.randn(1, channels, 5, side, side)
    yield torch.randn(1, channels, 1, side, side)
    yield torch.randn(1, 5, channels, side, side)
    yield torch.randn(1, channels, 4096)
    yield torch.randn(1, channels, 64)
    yield torch.randn(1, 16, 16, channels)


def texts(config):
    names = ("joint_attention_dim", "text_embed_dim", "text_dim", "cap_feat_dim", "caption_channels", "encoder_hid_dim", "text_hidden_dim",
             "cross_attention_dim", "cross_attention_input_dim", "context_dim", "text_embedding_dim", "encoder_hidden_states_dim",
             "in_context_dim", "caption_channels", "txt_dim", "hidden_size")
    widths = dict.fromkeys(attribute(config, name) for name in names)
    return [torch.randn(1, WORDS, width) for width in widths if width]


def one_of(name, config, kind):
    """Tensors to try for an argument, likeliest first; none for an argument that is not known."""
    if name in ("hidden_states", "sample", "x", "latents", "noisy_latents"):
        return list(latents(config, kind))
    if name in ("encoder_hidden_states", "encoder_hidden_states_t5", "text_embeds", "context", "prompt_embeds"):
        return texts(config)
    if name in ("timestep", "timesteps", "t"):
        return [torch.tensor([0.5]), torch.tensor([500])]
    if name in ("controlnet_cond", "conditioning_pixels"):
        return [torch.randn(1, 3, 8 * side, 8 * side) for side in (32, 16)]
    if name in ("added_time_ids",):
        return [torch.randn(1, 3)]
    if name in ("timestep_ratio", "r", "timestep_r", "crp", "sca"):
        return [torch.tensor([0.5])]
    if name == "guidance":
        return [torch.tensor([3.5])]
    if name in ("pooled_projections", "clip_text_pooled", "pooled_text_embeds"):
        wide = attribute(config, "pooled_projection_dim", "clip_text_pooled_in_channels", otherwise=256)
        return [torch.randn(1, wide), torch.randn(1, 1, wide)]
    if name == "global_hidden_states":
        return [torch.randn(1, 1, attribute(config, "global_states_input_dim", otherwise=256))]
    if re.search(r"(encoder|text).*mask|^attention_mask$", name):
        return [torch.ones(1, WORDS, dtype=torch.bool), torch.ones(1, WORDS, dtype=torch.int64)]
    if name in ("img_ids", "txt_ids"):
        axes = len(config.get("axes_dims_rope") or config.get("axes_dim") or (1, 1, 1))
        ids = torch.zeros(64 if name == "img_ids" else WORDS, axes)
        if name == "img_ids":
            ids[:, -2], ids[:, -1] = torch.arange(64) // 8, torch.arange(64) % 8
        return [ids, ids[None]]
    if name in ("class_labels", "labels"):
        return [torch.tensor([3])]
    return []


#: Arguments that are no tensors.
CONSTANTS = {"return_dict": False, "num_frames": 5, "height": 8, "width": 8, "img_shapes": [[(1, 8, 8)]], "txt_seq_lens": [WORDS],
             "added_cond_kwargs": {"resolution": None, "aspect_ratio": None}, "fps": 8}


def wants(name, one, config):
    """Whether an argument is given first."""
    if one.default is one.empty or name in ("encoder_hidden_states", "timestep", "pooled_projections", "img_ids", "txt_ids",
                                            "global_hidden_states", "encoder_attention_mask", "encoder_hidden_states_mask"):
        return True
    if name == "guidance":
        return bool(config.get("guidance_embeds"))
    return name == "class_labels" and (config.get("num_class_embeds") or "ada_norm" in str(config.get("norm_type")))


def choices(network, kind):
    taken = {name: one for name, one in inspect.signature(network.forward).parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD}
    config = dict(network.config)
    constants = {name: value for name, value in CONSTANTS.items() if name in taken}
    main, *others = [name for name, one in taken.items() if wants(name, one, config) and name not in constants]
    required = [name for name in others if taken[name].default is inspect.Parameter.empty]
    unknown = [name for name in required if not one_of(name, config, kind)]
    if unknown:
        raise ValueError(f"no inputs for {' '.join(unknown)}")
    for names in (others, required):
        lists = {name: one_of(name, config, kind) for name in (*reversed(names), main)}
        lists = {name: values for name, values in lists.items() if values}
        # The main tensor, of many forms, changes fastest.
        for values in itertools.islice(itertools.product(*lists.values()), MOST_TRIES):
            given = dict(zip(lists, values))
            yield {name: given[name] for name in taken if name in given}, constants


def working(network, kind):
    reasons = []
    for inputs, constants in choices(network, kind):
        try:
            with torch.no_grad():
                if flat(network(**inputs, **constants)):
                    return inputs, constants
        except Exception as error:
            reasons.append(" ".join(str(error).split())[:160])
    raise ValueError("no inputs: " + " | ".join(dict.fromkeys(reasons[:1] + reasons[-1:])))


def network_of(cls, given):
    """None for a network that is too large."""
    with torch.device("meta"):
        count = sum(one.numel() for one in cls(**given).parameters())
    return cls(**given).eval() if count <= LARGEST else None


def made_of(name, r):
    """The first of smaller forms that takes inputs."""
    cls = getattr(importlib.import_module("diffusers"), name)
    failed = None
    for form in r.sample(["shallow", "deep"], 2) + ["wide", "plain"]:
        try:
            network = network_of(cls, reduced(cls, form, r))
            if network is not None:
                inputs, constants = working(network, name)
                return Tensors(network, tuple(inputs), **constants), tuple(inputs.values())
        except Exception as error:
            failed = failed or error
    raise failed or ValueError("too large")


def names():
    diffusers = importlib.import_module("diffusers")
    classes = {name: getattr(diffusers, name, None) for name in dir(diffusers)}
    return sorted(name for name, one in classes.items() if inspect.isclass(one) and one is not diffusers.ModelMixin and
                  issubclass(one, diffusers.ModelMixin))


def made(seed):
    """The network and its inputs, of the first class in a random order that can be made. The caller seeds torch."""
    r = random.Random(int(seed))
    failed = None
    for name in r.sample(names(), MOST_CLASSES):
        try:
            return made_of(name, r)
        except Exception as error:
            failed = error
    raise failed
