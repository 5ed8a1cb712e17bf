// Walking over protobuf messages: the only header that includes the wire reader. It throws on
// broken bytes; the exception stops here.
#pragma once

#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fettle::onnx {

constexpr uint32_t VarintField(uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
}
constexpr uint32_t BytesField(uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited);
}
constexpr uint32_t Fixed32Field(uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed32);
}
constexpr uint32_t Fixed64Field(uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed64);
}

inline std::string_view View(protozero::pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

/// "tensor: ", which part of a file a message is about; "" of the whole.
inline std::string PartPrefix(std::string_view what) {
  return what == "model" ? std::string() : std::string(what) + ": ";
}

/// Calls `field(reader)` for each field of `message`; it consumes the field (reader.skip() where it
/// does not know it) and returns a Status. `what` names the message in errors.
template <typename F>
Status ForEachField(std::string_view message, std::string_view what, F&& field) {
  try {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next()) RETURN_IF_ERROR(field(reader));
    return OkStatus();
  } catch (const protozero::end_of_buffer_exception&) {
    return InvalidModel("{}not an ONNX model, or one that was cut off", PartPrefix(what));
  } catch (const protozero::exception&) {
    return InvalidModel("{}not an ONNX model", PartPrefix(what));
  }
}

}  // namespace fettle::onnx
