/*
 * protocols.h -- application protocols that AppClassifier knows: their numbers, in the paint annotation, and their names
 */
#pragma once

enum protocol {
    UNDECIDED, UNKNOWN, HTTP, TLS, SSH, SMTP, FTP, POP3, IMAP, RTSP, SIP, IRC, XMPP, BITTORRENT, MQTT, REDIS, POSTGRESQL, MYSQL, SMB, VNC, GIT, RSYNC, OTHER, PROTOCOLS,
};

static void print_protocol(u32 protocol)
{
    switch (protocol) {
    case UNDECIDED: print("undecided"); break;
    case HTTP: print("http"); break;
    case TLS: print("tls"); break;
    case SSH: print("ssh"); break;
    case SMTP: print("smtp"); break;
    case FTP: print("ftp"); break;
    case POP3: print("pop3"); break;
    case IMAP: print("imap"); break;
    case RTSP: print("rtsp"); break;
    case SIP: print("sip"); break;
    case IRC: print("irc"); break;
    case XMPP: print("xmpp"); break;
    case BITTORRENT: print("bittorrent"); break;
    case MQTT: print("mqtt"); break;
    case REDIS: print("redis"); break;
    case POSTGRESQL: print("postgresql"); break;
    case MYSQL: print("mysql"); break;
    case SMB: print("smb"); break;
    case VNC: print("vnc"); break;
    case GIT: print("git"); break;
    case RSYNC: print("rsync"); break;
    case OTHER: print("other"); break;
    default: print("unknown"); break;
    }
}

/* With the packet that decides what its flow is: what came before of it. */
INFO(bool, decides);
INFO(u32, earlier_packets);
INFO(u64, earlier_bytes);
