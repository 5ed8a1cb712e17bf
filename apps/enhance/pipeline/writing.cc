// The last stage: results in their order into segments, and the rate that is kept.
#include <fmt/format.h>

#include <chrono>

#include "av/pixels.h"
#include "basics/timed.h"
#include "pipeline/stages.h"

namespace fettle::enhance {
namespace {

/// After a segment: another network for the frames that nobody has begun, where the rate asks for
/// it.
void Judge(StageState& state, const std::string& network, int64_t frames, double seconds) {
  if (network != state.schedule.latest()) return;  // decided, but not yet in effect
  const Pace& pace = state.plan.pace;
  const std::string next = pace.After(network, frames, seconds);
  if (next == network) return;
  const int64_t first = state.schedule.Change(next);
  state.counters.changes.push_back(
      {state.between ? 2 * first : first, next,
       fmt::format("{} reached {:.1f} frames a second, {:.4g} are wanted", network,
                   static_cast<double>(frames) / seconds, pace.wanted)});
}

}  // namespace

void Encode(StageState& state) {
  const EncoderSetup& encoder = state.plan.encoder;
  Counters& counters = state.counters;
  Converter converter(encoder.format, encoder.width, encoder.height);
  std::string last;
  auto begin = std::chrono::steady_clock::now();  // of a segment
  while (std::optional<FramePtr> frame = state.results.Pop(state.stop())) {
    const Timed timed(counters.encode_ns);
    const bool key = IsKey(**frame);
    state.scenes.Add(**frame);
    const int64_t number = state.skip + counters.encoded;
    const std::string network = state.schedule.NetworkOf(state.between ? number / 2 : number);
    const int64_t closed = state.sink.Add(converter.Convert(std::move(*frame)), key, network);
    const auto now = std::chrono::steady_clock::now();
    if (closed > 0) Judge(state, last, closed, std::chrono::duration<double>(now - begin).count());
    if (closed > 0 || counters.encoded == 0) begin = now;
    last = network;
    ++counters.encoded;
  }
  if (!state.stop().stop_requested()) state.sink.Finish();
}

}  // namespace fettle::enhance
