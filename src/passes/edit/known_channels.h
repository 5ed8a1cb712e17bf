// What is known of channels where shapes are not known yet.
#pragma once

#include <optional>

#include "passes/edit/editor.h"

namespace fettle::passes {

/// A value's rank and its extent along axis 1.
struct KnownChannels {
  int rank = 0;
  int64_t channels = 0;
};

/// Those of a value at all shapes of the graph's inputs, by its shape or the operators that make
/// it; nothing where these do not tell both.
std::optional<KnownChannels> ChannelsOf(const Editor& editor, ir::ValueId id);

}  // namespace fettle::passes
