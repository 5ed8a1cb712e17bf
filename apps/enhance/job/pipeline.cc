#include "job/pipeline.h"

#include <chrono>
#include <functional>
#include <thread>

#include "av/pixels.h"
#include "basics/queue.h"

namespace fettle::enhance {
namespace {

constexpr size_t kPacketBytes = 4 << 20;
constexpr size_t kFrameBytes = 8 << 20;

struct Numbered {
  int64_t number = 0;
  FramePtr frame;
};

/// Adds the time that it lives.
class Timed {
 public:
  explicit Timed(std::atomic<int64_t>& total) : total_(total) {}
  ~Timed() { total_ += std::chrono::nanoseconds(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<int64_t>& total_;
  Clock::time_point start_ = Clock::now();
};

bool IsKey(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return frame.flags & AV_FRAME_FLAG_KEY;
#else
  return frame.key_frame != 0;
#endif
}

class Pipeline {
 public:
  Pipeline(const Plan& plan, int64_t skip, SegmentWriter& writer, Counters& counters)
      : plan_(plan),
        skip_(skip),
        writer_(writer),
        counters_(counters),
        input_(plan.input),
        results_(kFrameBytes, skip, plan.threads) {}

  /// The stages, each in a thread of its own, until all have ended.
  void Run(std::stop_token stop) {
    const std::stop_callback forward(stop, [this] { error_.stop().request_stop(); });
    std::vector<std::jthread> threads;
    const auto start = [&](void (Pipeline::*stage)()) {
      threads.emplace_back([this, stage] {
        try {
          (this->*stage)();
        } catch (...) {
          error_.Set();
        }
      });
    };
    start(&Pipeline::Demux);
    start(&Pipeline::Decode);
    for (int i = 0; i < plan_.threads; ++i) start(&Pipeline::Enhance);
    start(&Pipeline::Encode);
    threads.clear();
    error_.RethrowIfAny();
  }

 private:
  std::stop_token stop() { return error_.stop().get_token(); }

  void Demux() {
    while (PacketPtr packet = input_.Read()) {
      if (packet->stream_index != input_.video_index()) continue;
      const auto bytes = static_cast<size_t>(packet->size) + sizeof(AVPacket);
      if (packets_.Push(std::move(packet), bytes, stop()) != Pushed::kOk) return;
    }
    packets_.Close();
  }

  void Decode() {
    // With several threads, quantisers of frames would differ from run to run.
    Decoder decoder = plan_.first.own_levels ? Decoder(input_, 1, Decoder::kWithLevels)
                                             : Decoder(input_, plan_.threads);
    Converter converter(plan_.first.format, plan_.first.width, plan_.first.height);
    std::atomic<int64_t> waited = 0;  // for room in the queue
    const auto take = [&](FramePtr frame) {
      const int64_t number = counters_.decoded++;
      if (number < skip_) return void(++counters_.skipped);
      frame = converter.Convert(std::move(frame));
      const size_t bytes = FrameBytes(*frame);
      const Timed waiting(waited);
      frames_.Push({number, std::move(frame)}, bytes, stop());
    };
    while (std::optional<PacketPtr> packet = packets_.Pop(stop())) {
      const Timed timed(counters_.decode_ns);
      decoder.Decode(packet->get(), take);
    }
    if (stop().stop_requested()) return;
    {
      const Timed timed(counters_.decode_ns);
      decoder.Decode(nullptr, take);
    }
    counters_.decode_ns -= waited;
    counters_.damaged = decoder.damaged();
    counters_.retimed = decoder.retimed();
    frames_.Close();
  }

  void Enhance() {
    Chain chain(plan_.chain, plan_.first, counters_.step_ns);
    while (std::optional<Numbered> item = frames_.Pop(stop())) {
      FramePtr frame = chain.Apply(std::move(item->frame));
      const size_t bytes = FrameBytes(*frame);
      if (results_.Push(item->number, std::move(frame), bytes, stop()) != Pushed::kOk) return;
    }
    results_.Done();
  }

  void Encode() {
    Converter converter(plan_.encoder.format, plan_.encoder.width, plan_.encoder.height);
    while (std::optional<FramePtr> frame = results_.Pop(stop())) {
      const Timed timed(counters_.encode_ns);
      const bool key = IsKey(**frame);
      writer_.Add(converter.Convert(std::move(*frame)), key);
      ++counters_.encoded;
    }
    if (!stop().stop_requested()) writer_.Finish();
  }

  const Plan& plan_;
  const int64_t skip_;
  SegmentWriter& writer_;
  Counters& counters_;
  Input input_;
  FirstError error_;
  ByteQueue<PacketPtr> packets_{kPacketBytes};
  ByteQueue<Numbered> frames_{kFrameBytes};
  OrderedQueue<FramePtr> results_;
};

}  // namespace

bool RunPipeline(const Plan& plan, int64_t skip, SegmentWriter& writer, Counters& counters,
                 std::stop_token stop) {
  Pipeline(plan, skip, writer, counters).Run(stop);
  return !stop.stop_requested();
}

}  // namespace fettle::enhance
