package fakes

func NewZepto(o *Options) *Server { return newServer(o) }
