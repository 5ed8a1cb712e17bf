"""What the tables of networks share: modules that take and give tensors alone, and seeded inputs."""

import torch


def flat(value):
    """All tensors of a value of dictionaries and sequences, in order; what is not a tensor is left out, and so are caches of keys."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [one for key, part in value.items() if key != "past_key_values" for one in flat(part)]
    if isinstance(value, (tuple, list)):
        return [one for part in value for one in flat(part)]
    return []


class Tensors(torch.nn.Module):
    """A network whose inputs are tensors, given by these names (none: by position), and whose output is a tuple of tensors."""

    def __init__(self, network, names=(), method=None, **constants):
        super().__init__()
        self.network, self.names, self.method, self.constants = network, names, method, constants

    def forward(self, *inputs):
        call = getattr(self.network, self.method) if self.method else self.network
        if not self.names:
            return tuple(flat(call(*inputs)))
        return tuple(flat(call(**dict(zip(self.names, inputs)), **self.constants)))


def words(count, length, batch=1):
    return torch.randint(1, count, (batch, length))


def settled(network):
    """Ready to infer, with statistics of batch normalisation that are not those of a network before training."""
    for module in network.eval().modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return network
