"""What a request to OpenAI's interface asks for, checked: tokens and options for fettle.Generator.generate."""

import random
import typing

import fettle


class Refused(Exception):
    """What is wrong with a request, for OpenAI's form of errors."""

    def __init__(self, text, param=None, code=None, status=400):
        super().__init__(text)
        self.param, self.code, self.status = param, code, status


class Asked(typing.NamedTuple):
    tokens: list
    options: dict
    stream: bool
    usage: bool  # whether a stream ends with how many tokens there were


# Parameters that say nothing about the answer, and those that may be there with the one value that asks for nothing.
IGNORED = {"user", "metadata", "store", "safety_identifier", "prompt_cache_key", "service_tier"}
NEUTRAL = {"n": 1, "best_of": 1, "echo": False, "suffix": "", "logprobs": False, "frequency_penalty": 0, "presence_penalty": 0,
           "logit_bias": {}, "tools": [], "tool_choice": "none", "parallel_tool_calls": True, "response_format": {"type": "text"},
           "modalities": ["text"]}  # fmt: skip
COMMON = {"model", "temperature", "top_p", "top_k", "seed", "stop", "stream", "stream_options", "max_tokens"}
# What begins a turn in the forms of conversations that Fettle knows, and what ends an answer there.
ENDS = {"<|im_start|>": "<|im_end|>\n", "<|start_header_id|>": "<|eot_id|>", "<start_of_turn>": "<end_of_turn>\n", "[INST]": "</s>"}


def read_request(generator, chat, body, name):
    """Raises Refused."""
    check_names(body, COMMON | ({"messages", "max_completion_tokens"} if chat else {"prompt"}))
    if body.get("model") != name:
        raise Refused(f"there is no model {body.get('model')!r:.60} here: '{name}' is the only one", "model", "model_not_found")
    tokens = chat_tokens(generator, body.get("messages")) if chat else prompt_tokens(generator, body.get("prompt"))
    context = generator.facts.context
    if len(tokens) >= context:
        raise Refused(f"the context of {context} tokens has no room for an answer behind the {len(tokens)} of the prompt",
                      "messages" if chat else "prompt", "context_length_exceeded")  # fmt: skip
    most = number(body, "max_completion_tokens", None, 1, None, int) if chat else None
    most = number(body, "max_tokens", (context if chat else 16) if most is None else most, 1, None, int)
    top_p = number(body, "top_p", 1.0, 0, 1, (int, float))
    options = {
        "tokens": min(most, context),
        "temperature": float(number(body, "temperature", 1.0, 0, 2, (int, float))),
        # 0 of the probability is the likeliest token alone; to Fettle it is no limit.
        "top_p": float(top_p or 1),
        "top_k": min(number(body, "top_k", 0, 0, None, int), generator.facts.vocabulary) if top_p else 1,
        "seed": number(body, "seed", random.getrandbits(64), None, None, int) % (1 << 64),
        "stop": stops(body.get("stop")),
    }
    more = body.get("stream_options") or {}
    if not isinstance(more, dict) or more.keys() - {"include_usage", "include_obfuscation"}:
        raise Refused("stream_options may have include_usage alone", "stream_options")
    return Asked(tokens, options, flag(body, "stream"), flag(more, "include_usage"))


def check_names(body, known):
    for name, value in body.items():
        if name in known or name in IGNORED or value is None:
            continue
        if name not in NEUTRAL:
            raise Refused(f"unrecognised parameter '{name}'", name)
        if value != NEUTRAL[name] or isinstance(value, bool) != isinstance(NEUTRAL[name], bool):
            raise Refused(f"'{name}' is not supported: leave it out", name)


def number(body, name, usual, low, high, kinds):
    value = body.get(name)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise Refused(f"'{name}' is {'an integer' if kinds is int else 'a number'}, not {value!r:.40}", name)
    # NaN is in no range.
    if not ((low is None or value >= low) and (high is None or value <= high)):
        raise Refused(f"'{name}' lies from {low} {f'to {high}' if high is not None else 'on'}, not at {value!r:.40}", name)
    return value


def flag(body, name):
    value = body.get(name) or False
    if not isinstance(value, bool):
        raise Refused(f"'{name}' is true or false, not {value!r:.40}", name)
    return value


def text_of(value, name):
    if not isinstance(value, str):
        raise Refused(f"'{name}' is a text, not {value!r:.40}", name)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Refused(f"'{name}' has half a code point at character {error.start}", name) from error
    return value


def stops(value):
    texts = value if isinstance(value, list) else [] if value is None else [value]
    if len(texts) > 4:
        raise Refused("'stop' has at most 4 texts", "stop")
    return [text_of(text, "stop") for text in texts]


def begun(generator, tokens):
    facts = generator.facts
    begins = facts.begin_token is not None and (facts.adds_begin or not tokens)
    return [facts.begin_token, *tokens] if begins else tokens


def prompt_tokens(generator, prompt):
    """Of a text, or tokens as they are."""
    if isinstance(prompt, list) and len(prompt) == 1 and not isinstance(prompt[0], int):
        prompt = prompt[0]
    if isinstance(prompt, list) and prompt:
        vocabulary = generator.facts.vocabulary
        for token in prompt:
            if type(token) is not int or not 0 <= token < vocabulary:
                raise Refused(f"'prompt' is one text or tokens from 0 to {vocabulary - 1}, not {token!r:.40}", "prompt")
        return prompt
    tokens = begun(generator, generator.encode(text_of(prompt, "prompt")))
    if not tokens:
        raise Refused("'prompt' is empty, and the model has no token that begins a text", "prompt")
    return tokens


def turns_of(messages):
    """What the model is told first, and questions and answers by turns; messages of one role in a row are one."""
    if not isinstance(messages, list) or not messages:
        raise Refused("'messages' is a list of {\"role\": ..., \"content\": ...}", "messages")
    system, turns = [], []
    for i, message in enumerate(messages):
        name = f"messages[{i}]"
        if not isinstance(message, dict):
            raise Refused(f"'{name}' is no object", "messages")
        role, content = message.get("role"), message.get("content")
        if isinstance(content, list):
            if not all(isinstance(part, dict) and part.get("type") == "text" for part in content):
                raise Refused(f"'{name}' has other parts than text", "messages")
            content = "".join(text_of(part.get("text"), name) for part in content)
        content = text_of(content, f"{name}.content")
        if role in ("system", "developer"):
            system.append(content)
        elif role not in ("user", "assistant"):
            raise Refused(f"'{name}' has the role {role!r:.40}: system, developer, user and assistant are known", "messages")
        elif turns and turns[-1][0] == role:
            turns[-1] = (role, f"{turns[-1][1]}\n\n{content}")
        else:
            turns.append((role, content))
    if not turns or turns[0][0] != "user" or turns[-1][0] != "user":
        raise Refused("a conversation begins and ends with a message of the user", "messages")
    return "\n\n".join(system), [text for _, text in turns]


def chat_tokens(generator, messages):
    """Of a conversation in the model's form: Fettle has that of one question, and others follow in the same one."""
    system, texts = turns_of(messages)
    try:
        text = generator.chat(texts[0], system)
        if len(texts) > 1:
            question = "\x01question\x01"
            before, after = generator.chat(question).split(question)
            mark = max(ENDS, key=before.rfind)
            before = before[before.rfind(mark) :]
            for answer, asked in zip(texts[1::2], texts[2::2]):
                text += answer + ENDS[mark] + before + asked + after
        tokens = generator.encode(text, special=True)
    except fettle.Unsupported as error:
        raise Refused(f"{error}; /v1/completions takes one", "messages") from error
    except ValueError as error:  # a zero in a text
        raise Refused(f"'messages': {error}", "messages") from error
    return begun(generator, tokens)
