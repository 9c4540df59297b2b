#include "weft/http/response.h"

#include "weft/http/wire/format.h"

namespace weft::http {
namespace {

Response typed(std::string text, std::uint16_t status, std::string_view content_type) {
    Response response;
    response.status = status;
    response.headers.add_borrowed("Content-Type", content_type);
    response.body = Body(std::move(text));
    return response;
}

}  // namespace

Response Response::text(std::string text, std::uint16_t status) {
    return typed(std::move(text), status, "text/plain; charset=utf-8");
}

Response Response::html(std::string text, std::uint16_t status) {
    return typed(std::move(text), status, "text/html; charset=utf-8");
}

Response Response::json(std::string text, std::uint16_t status) {
    return typed(std::move(text), status, "application/json");
}

Response Response::plain(std::uint16_t status) {
    Response response;
    response.status = status;
    if (status < 200 || status == 204 || status == 304) return response;
    return Response::text(std::string(wire::reason_phrase(status)) + "\n", status);
}

Response Response::redirect(std::string_view location, std::uint16_t status) {
    return Response::plain(status).with("location", location);
}

Response Response::stream(std::string_view content_type, Body::Producer producer) {
    Response response;
    response.headers.add("Content-Type", content_type);
    response.body = Body::produced(std::move(producer));
    return response;
}

}  // namespace weft::http
