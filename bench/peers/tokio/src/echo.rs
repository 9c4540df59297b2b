use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

pub async fn serve(port: u16) {
    let socket = TcpSocket::new_v4().expect("socket");
    socket.set_reuseaddr(true).expect("reuseaddr");
    socket.bind(([127, 0, 0, 1], port).into()).expect("bind");
    let listener = socket.listen(4096).expect("listen");
    loop {
        let (connection, _) = listener.accept().await.expect("accept");
        tokio::spawn(echo(connection));
    }
}

async fn echo(mut connection: TcpStream) {
    let mut buffer = [0_u8; 4096];
    if connection.set_nodelay(true).is_err() {
        return;
    }
    loop {
        let received = match connection.read(&mut buffer).await {
            Ok(bytes) if bytes > 0 => bytes,
            _ => return,
        };
        if connection.write_all(&buffer[..received]).await.is_err() {
            return;
        }
    }
}
