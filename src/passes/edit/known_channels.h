// Channels that are known where shapes are not known yet.
#pragma once

#include <optional>

#include "passes/edit/editor.h"

namespace fettle::passes {

/// A value's rank and its extent along axis 1.
struct KnownChannels {
  int rank = 0;
  int64_t channels = 0;
};

/// Rank and channels that a value has at all shapes of the graph's inputs, by its shape or the
/// operators that make it; nothing where these do not give both.
std::optional<KnownChannels> ChannelsOf(const Editor& editor, ir::ValueId id);

}  // namespace fettle::passes
