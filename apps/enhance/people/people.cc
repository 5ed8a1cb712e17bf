#include "people/people.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "analysis/scene.h"

namespace fettle::enhance {
namespace {

/// How far a share goes to a new one: small changes are the network's unrest, large ones are true.
constexpr float kFollow = 0.35f;
/// Covers reach so much of the matte's longer side beyond what was found.
constexpr double kMargin = 1.0 / 40;

/// Behind the scene in a frame's properties, followed by the three maps.
struct Header {
  int width, height;
};

int Margin(const Map& map) {
  return static_cast<int>(std::lround(kMargin * std::max(map.width, map.height)));
}

/// The largest shares of both.
void Join(const Map& other, Map& map) {
  for (size_t i = 0; i < map.values.size(); ++i)
    map.values[i] = std::max(map.values[i], other.values[i]);
}

const uint8_t* BytesOf(const AVFrame& frame) {
  const AVBufferRef* notes = frame.opaque_ref;
  if (notes == nullptr || notes->size <= sizeof(Scene) + sizeof(Header)) return nullptr;
  return notes->data + sizeof(Scene);
}

}  // namespace

People PeopleFilter::Next(const Matte& now, const std::vector<const Matte*>& soon, bool cut) {
  Matte all = now;
  for (const Matte* matte : soon) {
    Join(matte->person, all.person);
    Join(matte->head, all.head);
  }
  People people{now.person, cover_.Add(all.person, cut), heads_.Add(all.head, cut)};
  AddMissingHeads(people.cover, people.heads);
  CoverHats(people.cover);
  CoverHats(people.heads);
  Grow(people.cover, Margin(people.cover));
  Grow(people.heads, Margin(people.heads));
  const bool anew = cut || person_.size() != now.person.values.size();
  person_.resize(now.person.values.size());
  for (size_t i = 0; i < person_.size(); ++i) {
    const float share = now.person.values[i], change = share - person_[i];
    const float follow = kFollow + (1 - kFollow) * std::abs(change) / 255;
    person_[i] = anew ? share : person_[i] + follow * change;
    people.person.values[i] = static_cast<uint8_t>(std::lround(person_[i]));
  }
  return people;
}

People Laid(const People& upright, int turns) {
  const int back = (4 - turns) % 4;
  return {Turned(upright.person, back), Turned(upright.cover, back), Turned(upright.heads, back)};
}

void AttachPeople(AVFrame& frame, const People& people) {
  const Scene scene = SceneOf(frame);
  const Header header{people.person.width, people.person.height};
  const size_t count = people.person.values.size();
  AVBufferRef* notes = av_buffer_alloc(sizeof(scene) + sizeof(header) + 3 * count);
  if (notes == nullptr) throw std::bad_alloc();
  av_buffer_unref(&frame.opaque_ref);
  frame.opaque_ref = notes;
  std::memcpy(notes->data, &scene, sizeof(scene));
  uint8_t* to = notes->data + sizeof(scene);
  std::memcpy(to, &header, sizeof(header));
  to += sizeof(header);
  for (const Map* map : {&people.person, &people.cover, &people.heads})
    to = std::ranges::copy(map->values, to).out;
}

bool BringsPeople(const AVFrame& frame) { return BytesOf(frame) != nullptr; }

People PeopleOf(const AVFrame& frame) {
  const uint8_t* from = BytesOf(frame);
  if (from == nullptr) return {};
  Header header;
  std::memcpy(&header, from, sizeof(header));
  from += sizeof(header);
  const ptrdiff_t count = static_cast<ptrdiff_t>(header.width) * header.height;
  People people;
  for (Map* map : {&people.person, &people.cover, &people.heads}) {
    *map = {header.width, header.height, std::vector<uint8_t>(from, from + count)};
    from += count;
  }
  return people;
}

void AttachBoth(AVFrame& made, const AVFrame& a, const AVFrame& b) {
  if (!BringsPeople(a) || !BringsPeople(b)) return;
  People people = PeopleOf(a);
  const People other = PeopleOf(b);
  for (size_t i = 0; i < people.person.values.size(); ++i)
    people.person.values[i] =
        static_cast<uint8_t>((people.person.values[i] + other.person.values[i] + 1) / 2);
  Join(other.cover, people.cover);
  Join(other.heads, people.heads);
  AttachPeople(made, people);
}

}  // namespace fettle::enhance
