// Sends and receives packets with a limit on size and time.
#include "registry/packets.h"

#include <sys/socket.h>

#include <cerrno>

namespace headwright::registry {

// "HASH FILE", or " FILE" for any hash
std::string question(const std::string& file, std::optional<std::uint64_t> expected) {
  return (expected ? std::to_string(*expected) : "") + " " + file;
}

Question question_in(const std::string& packet) {
  const auto space = packet.find(' ');
  Question asked{.file = packet.substr(space + 1)};
  if (space > 0) asked.expected = std::stoull(packet);
  return asked;
}

bool send_packet(int socket, std::string_view packet) {
  while (true) {
    if (::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL) >= 0) return true;
    if (errno != EINTR) return false;
  }
}

std::optional<std::string> receive_packet(int socket) {
  std::string packet(kLargestPacket, '\0');
  while (true) {
    const auto size = ::recv(socket, packet.data(), packet.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    packet.resize(static_cast<std::size_t>(size));
    return packet;
  }
}

}  // namespace headwright::registry
