// Changes that may make a network faster, found by looking; whether they do is measured.
#pragma once

#include <vector>

#include "advice/change.h"

namespace fettle::tools {

/// Channels rounded up to whole vectors and tiles, with everything that they pass through: the new
/// ones are read by weights of zero, so that the function stays. Two or three sizes of a place.
Status WidenChannels(Subject& subject, std::vector<Change>& changes);

/// Depthwise convolutions of 5x5 and 7x7 as two and three of 3x3, the first of which has the
/// stride; all of a size at once.
Status SplitWindows(Subject& subject, std::vector<Change>& changes);

/// All activations of a costly kind as ReLU.
Status SimplifyActivations(Subject& subject, std::vector<Change>& changes);

/// An average pool behind a 1x1 convolution goes before it: both are linear, and the convolution
/// has fewer pixels then.
Status PoolFirst(Subject& subject, std::vector<Change>& changes);

/// A convolution of a Concat as a sum of convolutions of its parts, which are copied no more.
Status SplitConcats(Subject& subject, std::vector<Change>& changes);

/// Channels rounded down to whole vectors and tiles, at least half of them, with everything that
/// they pass through: in one place, in all places of as many, and in places no two of which meet
/// in a convolution. Those of least weight go: the norm of what writes a channel times that of what
/// reads it. The function changes.
Status TrimChannels(Subject& subject, std::vector<Change>& changes);

/// All rules that keep or widen what there is, in turn.
Status ListChanges(Subject& subject, std::vector<Change>& changes);

}  // namespace fettle::tools
