// Transparency: which pixel formats have it, and which decoders and containers keep it.
#pragma once

#include <string_view>

#include "av/av.h"

namespace fettle::enhance {

/// Whether pixels of the format may be transparent, palettes among them.
bool HasAlpha(AVPixelFormat format);

/// The decoder that gives the stream's alpha too, where its usual one does not: VP8 and VP9 keep it
/// in a picture of its own beside each frame. Null where the usual one is right, or there is none.
const AVCodec* AlphaDecoderOf(const AVStream& stream);
/// Whether the stream says that it has alpha which no decoder here gives.
bool AlphaIsUnread(const AVStream& stream);

/// Whether readers find alpha of this encoder's frames in this container.
bool CarriesAlpha(const AVOutputFormat& container, std::string_view encoder);

}  // namespace fettle::enhance
