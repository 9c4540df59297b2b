//! The hyper peer of the HTTP benchmarks: HTTP/1 on Tokio's current-thread runtime, its fastest for
//! one core. By the environment: PORT, WWW (the folder of 10k.bin and 1m.bin).

use std::convert::Infallible;
use std::env;
use std::fs;
use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

#[derive(Clone)]
struct Site {
    small: Bytes,
    large: Bytes,
}

impl Site {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        match request.uri().path() {
            "/plaintext" => with_type("text/plain", Bytes::from_static(b"Hello, World!")),
            "/10k.bin" => with_type("application/octet-stream", self.small.clone()),
            "/1m.bin" => with_type("application/octet-stream", self.large.clone()),
            _ => {
                let mut response = Response::new(Full::new(Bytes::new()));
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        }
    }
}

fn with_type(content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

async fn serve(port: u16, site: Site) {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let listener = TcpListener::bind(address).await.expect("listen");
    loop {
        let (stream, _) = listener.accept().await.expect("accept");
        stream.set_nodelay(true).expect("no delay");
        let site = site.clone();
        tokio::task::spawn_local(async move {
            let service = service_fn(move |request| {
                let response = site.answer(&request);
                async move { Ok::<_, Infallible>(response) }
            });
            // A client that resets its connection at the end is the rule here.
            let _ = http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn main() {
    let port = env::var("PORT").expect("PORT").parse().expect("PORT");
    let www = env::var("WWW").expect("WWW");
    let read = |name: &str| Bytes::from(fs::read(format!("{www}/{name}")).expect("WWW"));
    let site = Site { small: read("10k.bin"), large: read("1m.bin") };
    let runtime = Builder::new_current_thread().enable_all().build().expect("runtime");
    LocalSet::new().block_on(&runtime, serve(port, site));
}
