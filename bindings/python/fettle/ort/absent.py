"""What ONNX Runtime has and Fettle has not: each use says so, and what there is in its place."""

from __future__ import annotations

from . import exceptions


def refuse(name: str, instead: str):
    """Raises NotImplemented, which says what `name` is not."""
    raise exceptions.NotImplemented(f"fettle.ort has no {name}: {instead}")


class _Absent(type):
    """A class that refuses to be made, and all of whose methods refuse to be called."""

    def __call__(cls, *arguments, **options):
        refuse(cls.__name__, cls.instead)

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **options: refuse(f"{cls.__name__}.{name}", cls.instead)


def _function(name: str, instead: str):
    def absent(*arguments, **options):
        refuse(name, instead)

    absent.__name__ = name
    absent.__doc__ = f"NotImplemented: {instead}."
    return absent


_CONTEXTS = "fettle.Session.tune(package=...) writes a model that is ready to run"
_PLUGINS = "providers in libraries of their own cannot be loaded; the config entry 'fettle.device' chooses a device"
_CLASSES = {
    "AdapterFormat": "LoRA adapters are not applied; merge them into the model's weights",
    "LoraAdapter": "LoRA adapters are not applied; merge them into the model's weights",
    "ModelCompiler": _CONTEXTS, "OrtEpContextData": _CONTEXTS, "OrtEpContextDataBuffer": _CONTEXTS,
    "OrtArenaCfg": "memory is planned for each model and shape, and has nothing to be set",
    "OrtEpAssignedNode": "fettle.plan says what computes each node",
    "OrtEpAssignedSubgraph": "fettle.plan says what computes each node",
    "OrtExternalInitializerInfo": "initialisers are the model's",
    "OrtSyncStream": "tensors are in host memory, where nothing is to be waited for",
    "SparseTensor": "tensors are dense",
}  # fmt: skip
_FUNCTIONS = {
    "create_and_register_allocator": "memory is planned for each model and shape",
    "create_and_register_allocator_v2": "memory is planned for each model and shape",
    "register_execution_provider_library": _PLUGINS, "unregister_execution_provider_library": _PLUGINS,
}  # fmt: skip

NAMES = (*_CLASSES, *_FUNCTIONS)
globals().update({name: _Absent(name, (), {"instead": text, "__doc__": f"NotImplemented: {text}.",
                                           "__module__": __name__}) for name, text in _CLASSES.items()})
globals().update({name: _function(name, text) for name, text in _FUNCTIONS.items()})
