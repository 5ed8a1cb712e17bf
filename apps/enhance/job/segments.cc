#include "job/segments.h"

#include "av/alpha.h"
#include "av/alpha_packets.h"
#include "av/decode_order.h"

namespace fettle::enhance {
namespace {
constexpr int64_t kLongSegment = 250, kVeryLongSegment = 1000;
static_assert(kVeryLongSegment < kSegmentStart);
}  // namespace

struct SegmentWriter::Open {
  Open(const EncoderSetup& setup, const std::filesystem::path& file) : file(file), encoder(setup) {
    AVFormatContext* made = nullptr;
    CheckAv(avformat_alloc_output_context2(&made, nullptr, "nut", nullptr), "nut");
    format.reset(made);
    format->flags |= AVFMT_FLAG_BITEXACT;
    AVStream* stream = avformat_new_stream(made, nullptr);
    if (stream == nullptr) throw std::bad_alloc();
    CheckAv(avcodec_parameters_copy(stream->codecpar, encoder.Parameters().get()), "nut");
    // NUT asks for a tag of every codec and knows none of some; nobody reads it.
    if (av_codec_get_tag(made->oformat->codec_tag, stream->codecpar->codec_id) == 0)
      stream->codecpar->codec_tag = MKTAG('V', 'I', 'D', 'S');
    stream->time_base = setup.time_base;
    if (HasAlpha(setup.format)) AddAlphaStream(*made);
    CheckWrite(avio_open(&made->pb, ("file:" + file.string()).c_str(), AVIO_FLAG_WRITE), file);
    CheckWrite(avformat_write_header(made, nullptr), file);
  }

  std::filesystem::path file;
  Encoder encoder;
  OutputPtr format;
  Segment segment;
  std::vector<int64_t> times;  // of packets, as they are written
};

SegmentWriter::SegmentWriter(const EncoderSetup& setup, JobFolder& folder, Trail* trail)
    : setup_(setup), folder_(folder), trail_(trail) {}
SegmentWriter::~SegmentWriter() = default;

void SegmentWriter::Write(AVPacket& packet) {
  packet.pts += kSegmentStart - open_->segment.first_time;
  packet.dts = static_cast<int64_t>(open_->times.size());
  open_->times.push_back(packet.pts);
  av_packet_rescale_ts(&packet, setup_.time_base, open_->format->streams[0]->time_base);
  packet.stream_index = 0;
  if (const PacketPtr alpha = TakeAlpha(packet))
    CheckWrite(av_write_frame(open_->format.get(), alpha.get()), open_->file);
  CheckWrite(av_write_frame(open_->format.get(), &packet), open_->file);
}

int64_t SegmentWriter::Add(FramePtr frame, bool source_key, const std::string& network) {
  const int64_t length = open_ == nullptr ? 0 : open_->segment.frames;
  const bool closes = length >= kVeryLongSegment || (length >= kLongSegment && source_key) ||
                      (length > 0 && open_->segment.network != network);
  if (closes) Close(network);
  if (open_ == nullptr) open_ = std::make_unique<Open>(setup_, folder_.path("segment.part"));
  if (trail_ != nullptr) trail_->Take(*frame);
  Segment& segment = open_->segment;
  segment.network = network;
  if (segment.frames++ == 0) segment.first_time = frame->pts;
  segment.last_time = frame->pts;
  segment.last_duration = DurationOf(*frame);
  open_->encoder.Encode(std::move(frame), [&](AVPacket& packet) { Write(packet); });
  return closes ? length : 0;
}

void SegmentWriter::Close(const std::string& next) {
  open_->encoder.Encode(nullptr, [&](AVPacket& packet) { Write(packet); });
  CheckWrite(av_write_trailer(open_->format.get()), open_->file);
  CheckWrite(avio_closep(&open_->format->pb), open_->file);
  open_->segment.next = next;
  open_->segment.delay = ReorderDelay(open_->times);
  folder_.AddSegment(open_->file, open_->segment,
                     trail_ == nullptr ? std::nullopt : std::optional(trail_->TakeRows()));
  open_.reset();
}

void SegmentWriter::Finish() {
  if (open_ != nullptr) Close(open_->segment.network);
  folder_.NoteComplete();
}

}  // namespace fettle::enhance
