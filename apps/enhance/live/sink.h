// Where enhanced frames go at once: standard output, an address, or a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "av/encoder.h"

namespace fettle::enhance {

/// Encodes frames and writes each when it comes, with packets of other streams beside them. Belongs
/// to one thread.
class LiveSink {
 public:
  /// Writes the header. `input` is read for the streams beside its video, whose index is `video`.
  /// Throws Failure.
  LiveSink(const std::string& name, const AVOutputFormat& container, const EncoderSetup& setup,
           const AVFormatContext& input, int video);
  ~LiveSink();
  LiveSink(const LiveSink&) = delete;
  LiveSink& operator=(const LiveSink&) = delete;

  /// With its time in the setup's time base.
  void Write(FramePtr frame);
  /// Of another stream of the input; those that the container has no place for are passed.
  void WriteOther(PacketPtr packet, AVRational base);
  /// The rest of the encoder and the end of the container.
  void Finish();
  /// Streams that are left out, each with its reason.
  const std::vector<std::string>& losses() const { return losses_; }

 private:
  void AddOthers(const AVFormatContext& input, int video);
  void Send(AVPacket& packet, int stream, AVRational base);

  const std::string name_;
  const AVRational base_;
  Encoder encoder_;
  OutputPtr format_;
  std::vector<int> places_;  // of the input's streams; -1: none
  std::vector<std::string> losses_;
  std::vector<int64_t> last_;  // decoding time of each stream of the output
  bool finished_ = false;
};

/// The encoder for a live stream to a container: the raw pixels where that holds them alone, else
/// that of `name`, told not to wait. `setup` brings size, format, times and colour.
EncoderSetup LiveEncoder(const std::string& name, int crf, const std::string& preset,
                         const AVOutputFormat& container, EncoderSetup setup);

}  // namespace fettle::enhance
